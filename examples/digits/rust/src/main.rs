//! Classifies ten images by the compiled model; see ../README.md.

const HEADER: &str = include_str!("../../digits_images.h");
const PIXELS: usize = 64;

/// The numbers of an array of C.
fn numbers(name: &str) -> Vec<f32> {
    let array = HEADER.split(&format!("{name}[")).nth(1).expect("the array");
    let content = array.split("= {").nth(1).and_then(|rest| rest.split(';').next()).expect("its elements");
    content
        .split(|c: char| !c.is_ascii_digit() && c != '.')
        .filter(|word| !word.is_empty())
        .map(|word| word.parse().expect("a number"))
        .collect()
}

fn argmax(values: &[f32]) -> usize {
    (0..values.len()).max_by(|&a, &b| values[a].total_cmp(&values[b])).unwrap_or(0)
}

fn main() -> Result<(), digits::Error> {
    let (images, labels) = (numbers("digits_images"), numbers("digits_labels"));
    let mut memory = digits::Memory::new();
    let mut model = digits::Model::new(&mut memory);
    let mut correct = 0;
    for (number, (pixels, label)) in images.chunks(PIXELS).zip(&labels).enumerate() {
        let image: &digits::tensor_image::Array = pixels.try_into().expect("an image");
        let mut logits: digits::tensor_logits::Array = [0.0; 10];
        model.run(image, &mut logits)?;
        let digit = argmax(&logits);
        println!("image {number}: recognised {digit}, label {label}");
        correct += usize::from(digit == *label as usize);
    }
    println!("{correct} of {} correct", labels.len());
    Ok(())
}
