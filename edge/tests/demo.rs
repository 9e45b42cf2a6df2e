// SPDX-License-Identifier: Apache-2.0
//! The demo, shortened: what it tells adds up.

use std::process::Command;

mod common;
use common::{WEIR_EDGE, number, text};

#[test]
fn what_the_demo_tells_adds_up() {
    let output = Command::new(WEIR_EDGE).args(["demo", "--seconds", "4"]).output().unwrap();
    let told = text(&output.stdout);
    assert!(output.status.success(), "{told}{}", text(&output.stderr));
    let submitted = number(&told, "\nsubmitted ");
    let accepted = number(&told, "\naccepted ");
    assert!(submitted >= 20, "{told}");
    assert_eq!(submitted, accepted + number(&told, " %), rejected "), "{told}");
    let ends = ["in time ", "%), late ", ", lost ", ", given back ", ", overrun ", ", failed "];
    let (_, last) = told.split_once("\naccepted ").unwrap();
    let last = last.lines().next().unwrap();
    assert_eq!(accepted, ends.iter().map(|end| number(last, end)).sum::<u64>(), "{told}");
    // The site goes on without the one that was killed: most tasks are done.
    assert!(number(last, "in time ") * 2 > submitted, "{told}");
    assert!(told.contains("\ndeath of node "), "{told}");
    assert!(!told.contains("never"), "{told}");
    assert!(told.contains("\nreal-time priority: ") && told.contains("\nnamespaces: "), "{told}");
}
