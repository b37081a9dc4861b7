//! scratch
fn main() {
    println!("message {} ", std::mem::size_of::<openchatml::Message>());
    println!("body {} ", std::mem::size_of::<openchatml::Body>());
}
