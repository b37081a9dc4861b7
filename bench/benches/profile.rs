//! One job in a loop, for a profiler: `cargo bench --bench profile -- JOB`.
use std::hint::black_box;
use openchatml::*;
use openchatml_bench::corpus::corpus;
fn main(){
    let job = std::env::args().nth(1).unwrap_or_default();
    let (bytes,turns) = if job.contains("20") {(20,12)} else {(1024,4)};
    let conversations = corpus(1, std::env::args().nth(3).and_then(|n| n.parse().ok()).unwrap_or(10_000_000), turns, bytes);
    let f: Format = "openchatml-2.2".parse().unwrap();
    let texts: Vec<String> = conversations.iter().map(|c| render(&c.clone().into(), f, &RenderOptions::default()).unwrap()).collect();
    let docs: Vec<_> = texts.iter().map(|t| parse(t,f,&ReadOptions::default()).document).collect();
    let n: usize = conversations.iter().map(|c|c.messages.len()).sum();
    let start = std::time::Instant::now();
    let rounds: u32 = std::env::args().nth(2).and_then(|n| n.parse().ok()).unwrap_or(20);
    for _ in 0..rounds {
        if job.starts_with("parse") { for t in &texts { black_box(parse(t,f,&ReadOptions::default())); } }
        else { for d in &docs { black_box(render(d,f,&RenderOptions::default()).unwrap()); } }
    }
    let e = start.elapsed();
    let total: usize = texts.iter().map(|t|t.len()).sum();
    eprintln!("{n} messages, {} ns/message, {:.3} GB/s, {} bytes/message", e.as_nanos()/rounds as u128/n as u128, f64::from(rounds)*total as f64/e.as_secs_f64()/1e9, total/n);
}
