//! Complex balls with principal branches. A number without an imaginary part is real; one of which
//! the imaginary part is a ball around 0 may be real.

use super::Rational;
use super::ball::{Ball, BallError, BallResult};
use super::elementary;

/// A complex number known up to a radius in each part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Complex {
    pub(crate) re: Ball,
    /// `None` for an exact 0.
    pub(crate) im: Option<Ball>,
}

impl From<Ball> for Complex {
    fn from(re: Ball) -> Self {
        Self { re, im: None }
    }
}

impl Complex {
    /// The imaginary unit.
    pub(crate) fn i() -> Self {
        Self {
            re: Ball::small(0),
            im: Some(Ball::small(1)),
        }
    }

    fn new(re: Ball, im: Ball) -> Self {
        let im = (!im.is_zero()).then_some(im);
        Self { re, im }
    }

    /// The real part, if the number is certainly real. [`BallError::Straddles`] if it may be real,
    /// [`BallError::Undefined`] if it is not.
    pub(crate) fn real(&self) -> BallResult<&Ball> {
        match &self.im {
            None => Ok(&self.re),
            Some(im) if im.contains_zero() => Err(BallError::Straddles),
            Some(_) => Err(BallError::Undefined),
        }
    }

    /// Whether the ball contains 0.
    pub(crate) fn contains_zero(&self) -> bool {
        self.re.contains_zero() && self.im.as_ref().is_none_or(Ball::contains_zero)
    }

    /// Whether it is exactly 0.
    pub(crate) fn is_zero(&self) -> bool {
        self.re.is_zero() && self.im.is_none()
    }

    /// Smallest `k` such that the absolute values of both parts are below `2^k`.
    pub(crate) fn magnitude(&self) -> i64 {
        let im = self.im.as_ref().map_or(i64::MIN, Ball::magnitude);
        self.re.magnitude().max(im)
    }

    /// `-z`.
    pub(crate) fn neg(&self) -> Self {
        Self {
            re: self.re.neg(),
            im: self.im.as_ref().map(Ball::neg),
        }
    }

    /// `z + w`.
    pub(crate) fn add(&self, other: &Self, prec: u64) -> BallResult<Self> {
        let re = self.re.add(&other.re, prec)?;
        let im = match (&self.im, &other.im) {
            (None, None) => return Ok(re.into()),
            (Some(im), None) | (None, Some(im)) => im.clone(),
            (Some(a), Some(b)) => a.add(b, prec)?,
        };
        Ok(Self::new(re, im))
    }

    /// `z - w`.
    pub(crate) fn sub(&self, other: &Self, prec: u64) -> BallResult<Self> {
        self.add(&other.neg(), prec)
    }

    /// `z · w`.
    pub(crate) fn mul(&self, other: &Self, prec: u64) -> BallResult<Self> {
        let re = self.re.mul(&other.re, prec)?;
        match (&self.im, &other.im) {
            (None, None) => Ok(re.into()),
            (Some(im), None) => Ok(Self::new(re, im.mul(&other.re, prec)?)),
            (None, Some(im)) => Ok(Self::new(re, im.mul(&self.re, prec)?)),
            (Some(a), Some(b)) => {
                let re = re.sub(&a.mul(b, prec)?, prec)?;
                let im = self.re.mul(b, prec)?.add(&a.mul(&other.re, prec)?, prec)?;
                Ok(Self::new(re, im))
            }
        }
    }

    /// `1 / z`.
    pub(crate) fn recip(&self, prec: u64) -> BallResult<Self> {
        let Some(im) = &self.im else {
            return Ok(self.re.recip(prec)?.into());
        };
        let norm = self
            .re
            .mul(&self.re, prec)?
            .add(&im.mul(im, prec)?, prec)?
            .recip(prec)?;
        Ok(Self::new(
            self.re.mul(&norm, prec)?,
            im.neg().mul(&norm, prec)?,
        ))
    }

    /// `|z|`.
    pub(crate) fn abs(&self, prec: u64) -> BallResult<Ball> {
        match &self.im {
            None => Ok(self.re.abs()),
            Some(im) => self
                .re
                .mul(&self.re, prec)?
                .add(&im.mul(im, prec)?, prec)?
                .root(2, prec),
        }
    }

    /// `exp(z)`.
    pub(crate) fn exp(&self, prec: u64) -> BallResult<Self> {
        let size = elementary::exp(&self.re, prec)?;
        let Some(im) = &self.im else {
            return Ok(size.into());
        };
        let (sin, cos) = elementary::sin_cos(im, prec)?;
        Ok(Self {
            re: size.mul(&cos, prec)?,
            im: Some(size.mul(&sin, prec)?),
        })
    }

    /// The principal logarithm.
    pub(crate) fn ln(&self, prec: u64) -> BallResult<Self> {
        match &self.im {
            None if self.re.sign()? > 0 => Ok(elementary::ln(&self.re, prec)?.into()),
            None if self.re.is_zero() => Err(BallError::Undefined),
            None => Ok(Self {
                re: elementary::ln(&self.re.neg(), prec)?,
                im: Some(elementary::pi(prec)?),
            }),
            Some(_) => Ok(Self {
                re: elementary::ln(&self.abs(prec)?, prec)?,
                im: Some(self.argument(prec)?),
            }),
        }
    }

    /// The principal argument, in (-pi, pi].
    pub(crate) fn argument(&self, prec: u64) -> BallResult<Ball> {
        let Some(im) = &self.im else {
            return match self.re.sign()? {
                0 => Err(BallError::Undefined),
                1 => Ok(Ball::small(0)),
                _ => elementary::pi(prec),
            };
        };
        if let Ok(sign) = self.re.sign()
            && sign != 0
        {
            let slope = im.mul(&self.re.recip(prec)?, prec)?;
            let angle = elementary::atan(&slope, prec)?;
            if sign > 0 {
                return Ok(angle);
            }
            let pi = elementary::pi(prec)?;
            return if im.sign()? >= 0 {
                angle.add(&pi, prec)
            } else {
                angle.sub(&pi, prec)
            };
        }
        // Near the imaginary axis: arg z = ±pi/2 - arctan(re/im).
        let half_pi = elementary::pi(prec)?.scaled(-1);
        let half_pi = if im.sign()? > 0 {
            half_pi
        } else {
            half_pi.neg()
        };
        let slope = self.re.mul(&im.recip(prec)?, prec)?;
        half_pi.sub(&elementary::atan(&slope, prec)?, prec)
    }

    /// `z ^ n`.
    pub(crate) fn powi(&self, exponent: i64, prec: u64) -> BallResult<Self> {
        if exponent < 0 {
            let positive = exponent.checked_neg().ok_or(BallError::TooLarge)?;
            return self.powi(positive, prec)?.recip(prec);
        }
        if exponent == 0 && self.contains_zero() {
            return Err(if self.is_zero() {
                BallError::Undefined
            } else {
                BallError::Straddles
            });
        }
        // Each squaring may double the relative error: the exponent has as many guard bits.
        let guard = prec + 2 * u64::from(exponent.max(1).ilog2()) + 4;
        let mut square = self.clone();
        let mut power = Self::from(Ball::small(1));
        let mut left = exponent;
        loop {
            if left & 1 == 1 {
                power = power.mul(&square, guard)?;
            }
            left >>= 1;
            if left == 0 {
                return Ok(power);
            }
            square = square.mul(&square, guard)?;
        }
    }

    /// `z ^ q` for a rational `q`: the real root of a real number where there is one, otherwise the
    /// principal power.
    pub(crate) fn powq(&self, exponent: &Rational, prec: u64) -> BallResult<Self> {
        if let Some(whole) = exponent.to_i64() {
            return self.powi(whole, prec);
        }
        let num = i64::try_from(exponent.num()).map_err(|_| BallError::TooLarge)?;
        let Ok(index) = u32::try_from(exponent.den()) else {
            return self.pow(&Ball::rational(exponent, prec)?.into(), prec);
        };
        if self.is_zero() {
            return if num > 0 {
                Ok(self.clone())
            } else {
                Err(BallError::Undefined)
            };
        }
        if self.im.is_none() {
            // Newton's method takes longer the larger the index is. Above this index a logarithm is
            // faster.
            if index > 64 {
                let size =
                    Self::from(self.re.abs()).pow(&Ball::rational(exponent, prec)?.into(), prec)?;
                return match (self.re.sign()?, index % 2) {
                    (1, _) => Ok(size),
                    (_, 1) => Ok(if num % 2 == 0 { size } else { size.neg() }),
                    _ => self.pow(&Ball::rational(exponent, prec)?.into(), prec),
                };
            }
            match self.re.root(index, prec + 8) {
                Ok(root) => return Self::from(root).powi(num, prec),
                Err(BallError::Undefined) => {}
                Err(other) => return Err(other),
            }
        }
        if index == 2 {
            return self.sqrt(prec + 8)?.powi(num, prec);
        }
        self.pow(&Ball::rational(exponent, prec)?.into(), prec)
    }

    /// The principal square root.
    pub(crate) fn sqrt(&self, prec: u64) -> BallResult<Self> {
        let Some(im) = &self.im else {
            return match self.re.root(2, prec) {
                Ok(root) => Ok(root.into()),
                Err(BallError::Undefined) => Ok(Self {
                    re: Ball::small(0),
                    im: Some(self.re.neg().root(2, prec)?),
                }),
                Err(other) => Err(other),
            };
        };
        // sqrt z = sqrt((|z| + re) / 2) ± i sqrt((|z| - re) / 2), with the sign of im.
        let size = self.abs(prec)?;
        let re = size.add(&self.re, prec)?.scaled(-1).root(2, prec)?;
        let part = size.sub(&self.re, prec)?.scaled(-1).root(2, prec)?;
        let part = if im.sign()? < 0 { part.neg() } else { part };
        Ok(Self { re, im: Some(part) })
    }

    /// `z ^ w = exp(w ln z)`.
    pub(crate) fn pow(&self, exponent: &Self, prec: u64) -> BallResult<Self> {
        if self.is_zero() {
            return match exponent.real()?.sign()? {
                1 => Ok(self.clone()),
                0 => Ok(Ball::small(1).into()),
                _ => Err(BallError::Undefined),
            };
        }
        // A large exponent multiplies the error of the logarithm. `elementary::MAX_PRECISION`
        // allows for these 80 bits.
        let extra = u64::try_from(exponent.magnitude().clamp(0, 64)).unwrap_or(0) + 16;
        self.ln(prec + extra)?
            .mul(exponent, prec + extra)?
            .exp(prec)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_of_i_pi_is_minus_one() {
        let angle = Complex::i()
            .mul(&elementary::pi(200).unwrap().into(), 200)
            .unwrap();
        let sum = angle
            .exp(200)
            .unwrap()
            .add(&Ball::small(1).into(), 200)
            .unwrap();
        assert!(sum.contains_zero() && sum.magnitude() < -90);
    }

    #[test]
    fn odd_root_of_negative_number_is_real() {
        let root = Complex::from(Ball::small(-8))
            .powq(&Rational::ratio(1, 3), 100)
            .unwrap();
        assert!(
            root.add(&Ball::small(2).into(), 100)
                .unwrap()
                .contains_zero()
        );
        assert!(root.im.is_none());
    }

    #[test]
    fn argument_is_the_angle_in_each_quadrant() {
        for (re, im, eighths) in [(1, 1, 1), (-1, 1, 3), (-1, -1, -3), (1, -1, -1)] {
            let angle = Complex::new(Ball::small(re), Ball::small(im))
                .argument(200)
                .unwrap();
            let expected = elementary::pi(200)
                .unwrap()
                .mul(&Ball::small(eighths), 200)
                .unwrap()
                .scaled(-2);
            let error = angle.sub(&expected, 200).unwrap();
            assert!(
                error.contains_zero() && error.magnitude() < -90,
                "{re} + {im}i"
            );
        }
    }
}
