//! Choices that the bytes of an input make, one after another.

/// Takes bytes from an input; zeros when they are used up, so that each input ends.
pub struct Choices<'a>(pub &'a [u8]);

impl Choices<'_> {
    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((first, rest)) => {
                self.0 = rest;
                *first
            }
            None => 0,
        }
    }

    /// A number in `0..limit`, of as few bytes as such numbers need.
    pub fn below(&mut self, limit: usize) -> usize {
        let mut number = 0;
        let mut most = limit.saturating_sub(1);
        while most > 0 {
            number = number << 8 | usize::from(self.byte());
            most >>= 8;
        }
        number % limit.max(1)
    }

    /// True in so many of 256 cases; never where the input has ended.
    pub fn chance(&mut self, of_256: u8) -> bool {
        self.byte() > 255 - of_256
    }

    /// One of these.
    pub fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }
}
