//! Whether anybody is at the other end of our standard output.

use crate::limits;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Returns when nobody can read our standard output any more: the other end of the
/// pipe or socket is closed. Never for a file.
pub async fn nobody_reads_stdout() {
    loop {
        let out = rustix::stdio::stdout();
        let mut asked = [PollFd::new(&out, PollFlags::empty())];
        let at_once = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let _ = poll(&mut asked, Some(&at_once));
        if asked[0]
            .revents()
            .intersects(PollFlags::ERR | PollFlags::HUP)
        {
            return;
        }
        tokio::time::sleep(limits::READER_LOOK).await;
    }
}
