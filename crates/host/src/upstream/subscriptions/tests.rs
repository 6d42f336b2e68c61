use super::*;

/// Between the last listener's going and our telling the server so, somebody
/// else's look at the same thing may end.
#[test]
fn what_the_server_still_tells_of_is_not_forgotten() {
    let all = Subscriptions::default();
    let topic = Topic::Resource("r://a".into());
    all.add(1, std::slice::from_ref(&topic)).unwrap();
    *all.told(&topic).try_lock().unwrap() = true;
    assert!(all.remove(1, &topic));
    all.sweep(&topic);
    let told = all.told(&topic);
    assert!(*told.try_lock().unwrap(), "the server would tell for ever");
    *told.try_lock().unwrap() = false;
    drop(told);
    all.sweep(&topic);
    assert!(all.state.lock().topics.is_empty());
}
