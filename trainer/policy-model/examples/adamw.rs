//! Times one step of AdamW, including clipping, for models with about 1 and 10 million parameters.
//! `python examples/adamw_torch.py` times PyTorch on the same shapes with one thread; set
//! `RAYON_NUM_THREADS=1` here to compare.

use std::collections::BTreeMap;
use std::io::{Write, stdout};

use assay_base::Random;
use assay_core::{Clock, SystemClock};
use assay_policy_model::optimiser::{AdamW, AdamWSettings};
use candle_core::{Device, Result, Tensor, Var};

const STEPS: usize = 41;

fn shapes(width: usize, layers: usize) -> Vec<Vec<usize>> {
    let layer = |width: usize| {
        let square = vec![width, width];
        let (up, down) = (vec![3 * width, width], vec![width, 3 * width]);
        [
            vec![vec![width]; 2],
            vec![square; 4],
            vec![up; 2],
            vec![down],
        ]
        .concat()
    };
    let mut all = vec![vec![1280, width], vec![width]];
    all.extend((0..layers).flat_map(|_| layer(width)));
    all
}

fn random(shape: &[usize], stream: u64) -> Result<Tensor> {
    let mut random = Random::stream(&[stream]);
    let values: Vec<f32> = (0..shape.iter().product())
        .map(|_| (random.normal() * 0.02) as f32)
        .collect();
    Tensor::from_vec(values, shape, &Device::Cpu)
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let clock = SystemClock::new();
    for (width, layers) in [(128, 4), (320, 7)] {
        let (mut parameters, mut gradients) = (BTreeMap::new(), BTreeMap::new());
        for (index, shape) in shapes(width, layers).iter().enumerate() {
            let name = format!("{index}.weight");
            parameters.insert(
                name.clone(),
                Var::from_tensor(&random(shape, index as u64)?)?,
            );
            gradients.insert(name, random(shape, 1_000 + index as u64)?);
        }
        let mut adamw = AdamW::new(AdamWSettings::default(), &parameters)?;
        let mut times = Vec::with_capacity(STEPS);
        for _ in 0..STEPS {
            let start = clock.monotonic();
            adamw.step(&gradients, 1e-4)?;
            times.push(clock.monotonic() - start);
        }
        times.sort_unstable();
        let count: usize = parameters
            .values()
            .map(|parameter| parameter.elem_count())
            .sum();
        let (median, best) = (
            times[STEPS / 2].as_secs_f64() * 1e3,
            times[0].as_secs_f64() * 1e3,
        );
        writeln!(
            stdout(),
            "{count} parameters: median {median:.2} ms, best {best:.2} ms"
        )?;
    }
    Ok(())
}
