//! A moment in milliseconds since the Unix epoch; on the wire RFC 3339 with milliseconds, in UTC.
//!
//! In: milliseconds from a caller that has a clock, or RFC 3339 text. Out: `2026-11-15T07:00:00.000Z`.

use std::fmt;
use std::str::FromStr;

use jiff::SignedDuration;
use jiff::civil::DateTime;

/// A moment in milliseconds since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, utoipa::ToSchema)]
#[schema(value_type = String, format = DateTime)]
pub struct Timestamp(i64);

/// The text is not a moment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not an RFC 3339 time such as 2026-11-15T07:00:00Z")]
pub struct InvalidTimestamp;

/// Years 0001 to 9999, so that the text form always has the same shape.
const MIN_MILLIS: i64 = -62_135_596_800_000;
const MAX_MILLIS: i64 = 253_402_300_799_999;

/// The moment from which milliseconds are counted.
const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// The date and the time of day of RFC 3339, with a `0` for every digit.
const SHAPE: &str = "0000-00-00T00:00:00";

impl Timestamp {
    /// The moment of these milliseconds, within years 0001 to 9999.
    pub fn from_millis(millis: i64) -> Self {
        Self(millis.clamp(MIN_MILLIS, MAX_MILLIS))
    }

    /// Milliseconds since the Unix epoch.
    pub fn millis(self) -> i64 {
        self.0
    }

    pub fn plus_millis(self, millis: i64) -> Self {
        Self::from_millis(self.0.saturating_add(millis))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moment = EPOCH.checked_add(SignedDuration::from_millis(self.0)).unwrap_or(EPOCH);
        write!(f, "{moment:.3}Z")
    }
}

impl FromStr for Timestamp {
    type Err = InvalidTimestamp;

    fn from_str(text: &str) -> Result<Self, InvalidTimestamp> {
        parsed(text)
            .filter(|millis| (MIN_MILLIS..=MAX_MILLIS).contains(millis))
            .map(Self)
            .ok_or(InvalidTimestamp)
    }
}

/// Checks by hand the places where RFC 3339 allows less than ISO 8601: no other precision, week, comma or
/// zone name.
fn parsed(text: &str) -> Option<i64> {
    let (clock, rest) = text.split_at_checked(SHAPE.len())?;
    let fits = |(byte, shape): (u8, u8)| match shape {
        b'0' => byte.is_ascii_digit(),
        // A space stands for the T in what `date --rfc-3339` prints.
        b'T' => matches!(byte, b'T' | b't' | b' '),
        other => byte == other,
    };
    if !clock.bytes().zip(SHAPE.bytes()).all(fits) {
        return None;
    }
    let moment: DateTime = clock.replace([' ', 't'], "T").parse().ok()?;
    let (millis, zone) = match rest.strip_prefix('.') {
        Some(rest) => {
            let digits = rest.find(|character: char| !character.is_ascii_digit()).filter(|end| *end > 0)?;
            let (fraction, zone) = rest.split_at_checked(digits)?;
            (format!("{fraction:0<3}").get(..3)?.parse::<i64>().ok()?, zone)
        }
        None => (0, rest),
    };
    let since_epoch = moment.duration_since(EPOCH).as_secs().checked_sub(offset_seconds(zone)?)?;
    since_epoch.checked_mul(1000)?.checked_add(millis)
}

/// `Z`, or hours and minutes of offset.
fn offset_seconds(zone: &str) -> Option<i64> {
    if matches!(zone, "Z" | "z") {
        return Some(0);
    }
    let &[sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] = zone.as_bytes() else { return None };
    let number = |tens: u8, ones: u8| {
        let digits = [tens, ones].iter().all(u8::is_ascii_digit);
        digits.then(|| i64::from(tens - b'0') * 10 + i64::from(ones - b'0'))
    };
    let (hours, minutes) = (number(h1, h2).filter(|h| *h < 24)?, number(m1, m2).filter(|m| *m < 60)?);
    let seconds = hours * 3600 + minutes * 60;
    Some(if sign == b'-' { -seconds } else { seconds })
}

impl serde::Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Timestamp {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_has_milliseconds_and_a_z() {
        let moment: Timestamp = "2026-11-15T09:00:00+02:00".parse().unwrap();
        assert_eq!(moment.to_string(), "2026-11-15T07:00:00.000Z");
        assert_eq!(moment.plus_millis(7).to_string(), "2026-11-15T07:00:00.007Z");
        assert!("yesterday".parse::<Timestamp>().is_err());
        assert_eq!(Timestamp::from_millis(i64::MAX).to_string(), "9999-12-31T23:59:59.999Z");
        assert_eq!(Timestamp::from_millis(i64::MIN).to_string(), "0001-01-01T00:00:00.000Z");
    }

    #[test]
    fn every_time_of_rfc_3339_is_taken() {
        for (text, is) in [
            ("2026-11-15t09:00:00z", "2026-11-15T09:00:00.000Z"),
            ("2026-11-15 09:00:00-05:30", "2026-11-15T14:30:00.000Z"),
            ("2026-11-15T09:00:00.5Z", "2026-11-15T09:00:00.500Z"),
            ("1969-12-31T23:59:59.123456789123Z", "1969-12-31T23:59:59.123Z"),
            ("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
            ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"),
        ] {
            assert_eq!(text.parse::<Timestamp>().unwrap().to_string(), is, "{text}");
            assert_eq!(is.parse::<Timestamp>().unwrap().to_string(), is);
        }
    }

    #[test]
    fn no_other_form_of_a_time_is_taken() {
        for text in [
            "",
            "2026-11-15",
            "2026-11-15T09Z",
            "2026-11-15T09:00Z",
            "20261115T090000Z",
            "2026-11-15T09:00:00",
            "2026-11-15T09:00:00,5Z",
            "2026-11-15T09:00:00.Z",
            "2026-11-15T09:00:00.5",
            "2026-11-15T09:00:00+01",
            "2026-11-15T09:00:00+0100",
            "2026-11-15T09:00:00+24:00",
            "2026-11-15T09:00:00+01:00:30",
            "2026-11-15T09:00:00Z[Europe/Berlin]",
            "2026-W46-7T09:00:00Z",
            "+002026-11-15T09:00:00Z",
            "2026-02-30T09:00:00Z",
            "2026-11-15T24:00:00Z",
            "0000-12-31T23:59:59Z",
            "9999-12-31T23:59:59-01:00",
            " 2026-11-15T09:00:00Z",
            "２026-11-15T09:00:00Z",
        ] {
            assert!(text.parse::<Timestamp>().is_err(), "{text:?}");
        }
    }
}
