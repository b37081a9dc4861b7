//! Measures competitors in turn, so that a machine that changes its speed changes it for all.

use std::time::{Duration, Instant};

/// One competitor: a name and a job that is done once.
pub struct Job<'j> {
    pub name: &'static str,
    pub run: Box<dyn FnMut() + 'j>,
}

impl<'j> Job<'j> {
    pub fn new(name: &'static str, run: impl FnMut() + 'j) -> Self {
        Self { name, run: Box::new(run) }
    }
}

/// The median times of jobs that were run in turn.
pub fn medians(jobs: &mut [Job<'_>], rounds: usize) -> Vec<Duration> {
    let mut times = vec![Vec::with_capacity(rounds); jobs.len()];
    for round in 0..=rounds {
        for (job, times) in jobs.iter_mut().zip(&mut times) {
            let start = Instant::now();
            (job.run)();
            // The first round warms up.
            if round > 0 {
                times.push(start.elapsed());
            }
        }
    }
    times
        .into_iter()
        .map(|mut times| {
            times.sort_unstable();
            times[times.len() / 2]
        })
        .collect()
}

/// Bytes in a time, as gigabytes a second.
pub fn gigabytes(bytes: usize, time: Duration) -> f64 {
    bytes as f64 / time.as_secs_f64() / 1e9
}

/// Prints a table row by row: the first job is the one that the others are compared with.
pub fn report(title: &str, bytes: usize, jobs: &mut [Job<'_>], rounds: usize) -> Vec<Duration> {
    let times = medians(jobs, rounds);
    println!("\n## {title} ({:.1} MB)\n", bytes as f64 / 1e6);
    println!("| job | time | GB/s | ratio to the first |");
    println!("| --- | ---: | ---: | ---: |");
    for (job, time) in jobs.iter().zip(&times) {
        println!(
            "| {} | {:.3} ms | {:.3} | {:.2} |",
            job.name,
            time.as_secs_f64() * 1e3,
            gigabytes(bytes, *time),
            time.as_secs_f64() / times[0].as_secs_f64(),
        );
    }
    times
}
