//! Calls that need an approval before they are made.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use openchatml::Code;
use openchatml_tools::{
    Approval, ApprovalFuture, ApprovalPolicy, ApprovalRequest, Approver, Router, RouterOptions,
    Toolbox, TurnEvent,
};
use tokio::time::sleep;

use super::support::{boxed, call, echo, json, replies};

/// Gives scripted answers, each after one hour.
struct Scripted {
    says: Mutex<Vec<Approval>>,
    asked: Mutex<Vec<String>>,
}

impl Approver for Scripted {
    fn approve<'a>(&'a self, call: ApprovalRequest<'a>) -> ApprovalFuture<'a> {
        Box::pin(async move {
            let problem = call.problem.map_or(String::new(), |it| format!(" problem: {it}"));
            let asked = format!("{} {}{problem}", call.name, call.arguments);
            self.asked.lock().unwrap().push(asked);
            sleep(Duration::from_secs(3600)).await;
            self.says.lock().unwrap().remove(0)
        })
    }
}

fn router(tools: Toolbox, approve: ApprovalPolicy, says: Vec<Approval>) -> (Router, Arc<Scripted>) {
    let approver = Arc::new(Scripted { says: says.into(), asked: Mutex::default() });
    let mut options = RouterOptions::default();
    options.approve = approve;
    options.approver = Some(approver.clone());
    (Router::new(tools, options).unwrap(), approver)
}

/// The results of these calls in order, and the questions that were asked.
async fn made(
    tools: Toolbox,
    approve: ApprovalPolicy,
    says: Vec<Approval>,
    bodies: &[&str],
) -> (Vec<String>, Vec<String>) {
    let (router, approver) = router(tools, approve, says);
    let mut turn = router.turn([]);
    let mut came = Vec::new();
    for (number, body) in bodies.iter().enumerate() {
        turn.dispatch(&call("functions.f", &format!("c{number}"), body)).await;
        came.extend(replies(&mut turn).await.iter().map(|it| it.body.text().into_owned()));
    }
    let asked = approver.asked.lock().unwrap().clone();
    (came, asked)
}

#[tokio::test(start_paused = true)]
async fn each_call_is_approved_and_the_wait_does_not_count() {
    let says = vec![Approval::Yes, Approval::No("too late".into()), Approval::Yes];
    let (came, asked) = made(boxed(echo()), ApprovalPolicy::Always, says, &["a", "b", "c"]).await;
    assert_eq!(asked, ["functions.f a", "functions.f b", "functions.f c"]);
    assert!(came[0].contains(r#""ok":true"#) && came[2].contains(r#""ok":true"#), "{came:?}");
    assert!(came[1].contains("E-TOOL-CANCELLED") && came[1].contains("too late"), "{came:?}");
}

/// Approves everything and records the order of the questions.
#[derive(Default)]
struct ApprovesAll(Mutex<Vec<String>>);

impl Approver for ApprovesAll {
    fn approve<'a>(&'a self, call: ApprovalRequest<'a>) -> ApprovalFuture<'a> {
        self.0.lock().unwrap().push(call.call_id.to_owned());
        Box::pin(async { Approval::Yes })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn questions_come_in_the_order_of_the_calls() {
    let approver = Arc::new(ApprovesAll::default());
    let mut options = RouterOptions::default();
    options.approve = ApprovalPolicy::Always;
    options.approver = Some(approver.clone());
    let router = Router::new(boxed(echo()), options).unwrap();
    let mut turn = router.turn([]);
    let ids: Vec<_> = (0..500).map(|number| format!("c{number}")).collect();
    for id in &ids {
        turn.dispatch(&call("functions.f", id, "a")).await;
    }
    assert_eq!(replies(&mut turn).await.len(), ids.len());
    assert_eq!(*approver.0.lock().unwrap(), ids);
}

#[tokio::test(start_paused = true)]
async fn one_approval_is_enough_with_approve_once() {
    let says = vec![Approval::No("no".into()), Approval::Yes];
    let (came, asked) =
        made(boxed(echo()), ApprovalPolicy::Once, says, &["a", "b", "c", "d"]).await;
    assert_eq!(asked, ["functions.f a", "functions.f b"]);
    let is_made: Vec<_> = came.iter().map(|reply| reply.contains(r#""ok":true"#)).collect();
    assert_eq!(is_made, [false, true, true, true]);
}

#[tokio::test(start_paused = true)]
async fn edited_arguments_reach_the_tool_if_they_are_valid() {
    let schema = json(r#"{"type":"object","properties":{"n":{"type":"integer"}}}"#);
    let tool = || {
        let mut entry = echo();
        entry.parameters = Some(schema.clone());
        boxed(entry)
    };
    let edit = |texts: &[&str]| {
        texts.iter().map(|text| Approval::Edited((*text).to_owned())).collect::<Vec<_>>()
    };
    let (own, other) = (r#"{"n":1}"#, r#"{"n":2}"#);
    let (came, _) = made(tool(), ApprovalPolicy::Always, edit(&[other]), &[own]).await;
    assert!(came[0].contains(r#""content":"{\"n\":2}""#), "{came:?}");
    // The reply contains the reason for the model.
    assert!(came[0].contains(r#""arguments":"{\"n\":2}""#), "{came:?}");
    let (came, _) = made(tool(), ApprovalPolicy::Always, vec![Approval::Yes], &[own]).await;
    assert!(!came[0].contains("arguments"), "{came:?}");
    for wrong in [r#"{"n":"x"}"#, "{"] {
        // An invalid edit is reported to the approver and not to the model.
        let says = edit(&[wrong, wrong, other]);
        let (came, asked) = made(tool(), ApprovalPolicy::Always, says, &[own]).await;
        assert!(came[0].contains(r#"{\"n\":2}"#), "{came:?}");
        let problems: Vec<_> = asked.iter().map(|it| it.contains("problem")).collect();
        assert_eq!(problems, [false, true, true], "{asked:?}");
        let (came, _) = made(tool(), ApprovalPolicy::Always, edit(&[wrong; 3]), &[own]).await;
        assert!(came[0].contains("E-TOOL-CANCELLED"), "{came:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_can_have_its_own_approval_policy() {
    let mut free = echo();
    free.approve = Some(ApprovalPolicy::Never);
    let free = boxed(free);
    let (came, asked) = made(free, ApprovalPolicy::Always, vec![], &["a"]).await;
    assert!(came[0].contains(r#""ok":true"#) && asked.is_empty(), "{came:?}");
    let mut guarded = echo();
    guarded.approve = Some(ApprovalPolicy::Always);
    let guarded = boxed(guarded);
    let (_, asked) =
        made(guarded.clone(), ApprovalPolicy::Never, vec![Approval::Yes], &["a"]).await;
    assert_eq!(asked.len(), 1);
    // Without an approver the call is not made.
    let router = Router::new(guarded, RouterOptions::default()).unwrap();
    let mut turn = router.turn([]);
    turn.dispatch(&call("functions.f", "c", "a")).await;
    let Some(TurnEvent::Done { code, .. }) = turn.next().await else { panic!("it began") };
    assert_eq!(code, Some(Code::ToolCancelled));
}

#[tokio::test(start_paused = true)]
async fn cancelling_a_call_withdraws_the_question() {
    let (router, approver) = router(boxed(echo()), ApprovalPolicy::Always, vec![Approval::Yes]);
    let mut turn = router.turn([]);
    turn.dispatch(&call("functions.f", "a", "a")).await;
    turn.dispatch(&call("functions.f", "b", "b")).await;
    tokio::task::yield_now().await;
    assert!(turn.cancel("a", "changed my mind"));
    let replies = replies(&mut turn).await;
    // The second answer is applied to it.
    let made = replies.iter().filter(|it| it.body.text().contains(r#""ok":true"#)).count();
    assert_eq!((replies.len(), made), (2, 1));
    assert_eq!(approver.asked.lock().unwrap().len(), 2);
}
