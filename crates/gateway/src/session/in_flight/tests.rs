use super::*;
use futures_util::FutureExt;

fn notice() -> Message {
    Message::notification(Method::Cancelled, "{\"requestId\":1}")
}

#[test]
fn a_second_request_under_an_id_leaves_the_first_alone() {
    let all = InFlight::default();
    let id = Id::number(1);
    let (first, mut given_up) = InFlight::enter(&all, &id).expect("a place");
    let second = InFlight::enter(&all, &id).err();
    assert_eq!(second, Some(NoPlace::InUse));
    assert!(given_up.notice().now_or_never().is_none());
    // It can still be given up, and is then not awaited any more.
    assert!(all.give_up(id.token(), &notice()));
    assert!(given_up.notice().now_or_never().is_some());
    assert!(!first.end());
}

#[test]
fn an_id_is_free_again_when_its_request_ends_however_it_does() {
    let all = InFlight::default();
    let id = Id::string("a");
    let (place, _given_up) = InFlight::enter(&all, &id).expect("a place");
    assert!(place.end(), "it was awaited");
    let (place, _given_up) = InFlight::enter(&all, &id).expect("the same place");
    assert!(!all.is_empty());
    drop(place);
    assert!(all.is_empty());
}

#[test]
fn there_are_no_more_than_the_cap() {
    let all = InFlight::default();
    let ids: Vec<Id> = (0..limits::IN_FLIGHT as u64).map(Id::number).collect();
    let places = ids
        .iter()
        .map(|id| InFlight::enter(&all, id).expect("a place"));
    let places: Vec<_> = places.collect();
    let more = InFlight::enter(&all, &Id::string("more")).err();
    assert_eq!(more, Some(NoPlace::Full));
    drop(places);
    assert!(all.is_empty());
}

#[test]
fn who_waits_to_be_given_up_may_ask_as_often_as_it_likes() {
    let all = InFlight::default();
    let (place, mut given_up) = InFlight::enter(&all, &Id::number(1)).expect("a place");
    // With the place goes whoever could tell.
    drop(place);
    for _ in 0..3 {
        assert!(given_up.notice().now_or_never().is_none());
        let done = given_up.or(std::future::ready(5)).now_or_never();
        assert!(matches!(done, Some(Ok(5))));
    }
}

#[test]
fn all_are_told_by_their_own_ids() {
    let all = InFlight::default();
    let (_one, mut one) = InFlight::enter(&all, &Id::number(1)).expect("a place");
    let (_two, mut two) = InFlight::enter(&all, &Id::string("b")).expect("a place");
    all.give_up_all();
    let said = |given_up: &mut GivenUp| {
        let notice = given_up.notice().now_or_never().expect("a notice");
        String::from_utf8_lossy(notice.body()).into_owned()
    };
    assert_eq!(said(&mut one), "{\"requestId\":1}");
    assert_eq!(said(&mut two), "{\"requestId\":\"b\"}");
}
