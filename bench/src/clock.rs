//! Measures competitors alternately, so that changes of the machine speed affect all of them.

use std::time::{Duration, Instant};

/// The load of a job.
#[derive(Clone, Copy, Debug, Default)]
pub struct Load {
    pub bytes: usize,
    pub messages: usize,
}

/// A competitor: a name and one run of a job.
pub struct Job<'j> {
    name: &'j str,
    load: Option<Load>,
    repeat: u32,
    prepare: Box<dyn FnMut() + 'j>,
    run: Run<'j>,
}

enum Run<'j> {
    Here(Box<dyn FnMut() + 'j>),
    /// In another process, which reports its time.
    Elsewhere(Box<dyn FnMut() -> Duration + 'j>),
}

impl<'j> Job<'j> {
    pub fn new(name: &'j str, run: impl FnMut() + 'j) -> Self {
        Self::of(name, Run::Here(Box::new(run)))
    }

    /// Creates a job in another process, which reports its time.
    pub fn elsewhere(name: &'j str, run: impl FnMut() -> Duration + 'j) -> Self {
        Self::of(name, Run::Elsewhere(Box::new(run)))
    }

    fn of(name: &'j str, run: Run<'j>) -> Self {
        Self { name, load: None, repeat: 1, prepare: Box::new(|| ()), run }
    }

    /// Repeats the job in each round, for jobs that are too short for the clock.
    pub fn repeat(mut self, repeat: u32) -> Self {
        self.repeat = repeat;
        self
    }

    /// Runs a preparation before each round, which is not measured.
    pub fn prepare(mut self, prepare: impl FnMut() + 'j) -> Self {
        self.prepare = Box::new(prepare);
        self
    }

    /// Sets a load that differs from that of the others.
    pub fn on(mut self, load: Load) -> Self {
        self.load = Some(load);
        self
    }
}

/// Returns how long this thread has waited for a core since its start, because other threads used
/// all of them. Linux reports this time; elsewhere, waiting counts as work.
fn waited() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split_ascii_whitespace().nth(1).and_then(|nanos| nanos.parse().ok());
    Duration::from_nanos(nanos.unwrap_or_default())
}

/// The measured times of a job.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    pub median: Duration,
    /// The shortest time: the speed of the machine without other load.
    pub best: Duration,
}

/// Runs the jobs alternately and returns their times, without the time that they waited for a core.
pub fn measure(jobs: &mut [Job<'_>], rounds: usize) -> Vec<Measured> {
    let mut times = vec![Vec::with_capacity(rounds); jobs.len()];
    for round in 0..=rounds {
        for (job, times) in jobs.iter_mut().zip(&mut times) {
            let time = once(job);
            // The first round is a warm-up.
            if round > 0 {
                times.push(time / job.repeat);
            }
        }
    }
    let measured = |times: Vec<Duration>| Measured {
        best: times.iter().copied().min().unwrap_or_default(),
        median: median(times),
    };
    times.into_iter().map(measured).collect()
}

/// Returns the time of one round.
fn once(job: &mut Job<'_>) -> Duration {
    (job.prepare)();
    match &mut job.run {
        Run::Elsewhere(run) => (0..job.repeat).map(|_| run()).sum(),
        Run::Here(run) => {
            let (before, start) = (waited(), Instant::now());
            for _ in 0..job.repeat {
                run();
            }
            start.elapsed().saturating_sub(waited().saturating_sub(before))
        }
    }
}

/// Returns the median. There must be at least one time.
pub fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// Returns gigabytes per second.
pub fn gigabytes(bytes: usize, time: Duration) -> f64 {
    bytes as f64 / time.as_secs_f64() / 1e9
}

/// Formats a number with three significant digits.
pub fn digits(number: f64) -> String {
    if !number.is_normal() {
        return "-".to_owned();
    }
    let magnitude = number.abs().log10().floor();
    let decimals = (2.0 - magnitude).clamp(0.0, 9.0) as usize;
    format!("{number:.decimals$}")
}

/// Prints a table of jobs that process or create `ids` token ids. The first job is the baseline for
/// the time per id.
pub fn report_ids(title: &str, bytes: usize, ids: usize, jobs: &mut [Job<'_>], rounds: usize) {
    let times = measure(jobs, rounds);
    println!("\n### {title}\n");
    println!("{:.1} MB, {ids} ids; median of {rounds} rounds.\n", bytes as f64 / 1e6);
    println!("| job | time in ms | MB/s | ns an id | time, first = 1 | MB/s at best |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: |");
    let of = |time: Duration, load: Load| time.as_secs_f64() / load.bytes as f64;
    let all = Load { bytes, messages: 0 };
    let first = of(times[0].median, jobs[0].load.unwrap_or(all));
    for (job, time) in jobs.iter().zip(&times) {
        let load = job.load.unwrap_or(all);
        let ids = ids as f64 * load.bytes as f64 / bytes as f64;
        println!(
            "| {} | {} | {} | {} | {} | {} |",
            job.name,
            digits(time.median.as_secs_f64() * 1e3),
            digits(gigabytes(load.bytes, time.median) * 1e3),
            digits(time.median.as_secs_f64() * 1e9 / ids),
            digits(of(time.median, load) / first),
            digits(gigabytes(load.bytes, time.best) * 1e3),
        );
    }
}

/// Prints a table row by row. The first job is the baseline for the time per byte.
pub fn report(title: &str, load: Load, jobs: &mut [Job<'_>], rounds: usize) {
    let times = measure(jobs, rounds);
    println!("\n### {title}\n");
    let Load { bytes, messages } = load;
    println!("{:.1} MB, {messages} messages; median of {rounds} rounds.\n", bytes as f64 / 1e6);
    println!("| job | time in ms | GB/s | ns a message | time, first = 1 | GB/s at best |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: |");
    let first = jobs[0].load.unwrap_or(load);
    let first = times[0].median.as_secs_f64() / first.bytes as f64;
    for (job, time) in jobs.iter().zip(&times) {
        let Load { bytes, messages } = job.load.unwrap_or(load);
        let median = time.median.as_secs_f64();
        println!(
            "| {} | {} | {} | {} | {} | {} |",
            job.name,
            digits(median * 1e3),
            digits(gigabytes(bytes, time.median)),
            digits(median * 1e9 / messages as f64),
            digits(median / bytes as f64 / first),
            digits(gigabytes(bytes, time.best)),
        );
    }
}
