//! Classifies images of digits by a program that qmlir has emitted: reads 64 numbers from 0 to 1 for each image, from
//! the upper left to the lower right, and prints a digit on a line.

use std::io::{read_to_string, stdin, Error, ErrorKind};
use std::os::raw::c_int;
use std::process::ExitCode;

// What `digits.h` declares.
const INPUT_ELEMENTS: usize = 64;
const LOGITS_ELEMENTS: usize = 10;

extern "C" {
    fn digits_run(input: *const f32, logits: *mut f32) -> c_int;
}

/// The elements of the output. `digits_run` has working memory of its own: one call at a time.
fn logits_of(image: &[f32; INPUT_ELEMENTS]) -> Result<[f32; LOGITS_ELEMENTS], Error> {
    let mut logits = [0.0; LOGITS_ELEMENTS];
    match unsafe { digits_run(image.as_ptr(), logits.as_mut_ptr()) } {
        0 => Ok(logits),
        wrong => Err(Error::new(ErrorKind::InvalidData, format!("input {wrong} holds NaN"))),
    }
}

fn number_of(word: &str) -> Result<f32, Error> {
    word.parse().map_err(|_| Error::new(ErrorKind::InvalidData, format!("'{word}' is not a number")))
}

fn classify() -> Result<(), Error> {
    let numbers: Vec<f32> = read_to_string(stdin())?.split_whitespace().map(number_of).collect::<Result<_, _>>()?;
    for image in numbers.chunks(INPUT_ELEMENTS) {
        let found = format!("an image is {INPUT_ELEMENTS} numbers, found the end after {} of them", image.len());
        let image = image.try_into().map_err(|_| Error::new(ErrorKind::InvalidData, found))?;
        let logits = logits_of(image)?;
        let best = (0..LOGITS_ELEMENTS).reduce(|best, each| if logits[each] > logits[best] { each } else { best });
        println!("{}", best.unwrap_or(0));
    }
    Ok(())
}

fn main() -> ExitCode {
    match classify() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
