//! The channels of each version of Claude Code, as data: the boundaries were found by running the versions on
//! both sides of each.
//!
//! In: the output of `claude --version`. Out: every channel with whether it works and why. `GET /v1/agents`
//! and `askd doctor` show it, and no session starts through a channel that does not work.

use crate::descriptor::{Road, RoadHere};

/// The versions that askd supports.
pub(super) const SUPPORTED: &str = "2.0.71 and newer";

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Version(u32, u32, u32);

impl Version {
    /// The first three numbers of a text such as `2.1.325 (Claude Code)`.
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.trim().split(['.', '-', ' ']).map_while(|part| part.parse::<u32>().ok());
        Some(Self(parts.next()?, parts.next()?, parts.next()?))
    }
}

/// From a version on, a road works or does not, for a reason.
struct Stretch {
    road: Road,
    from: Version,
    works: bool,
    why: &'static str,
}

const fn stretch(road: Road, from: (u32, u32, u32), works: bool, why: &'static str) -> Stretch {
    Stretch { road, from: Version(from.0, from.1, from.2), works, why }
}

/// All boundaries, the oldest first for each road; the last one at or below a version counts.
const STRETCHES: [Stretch; 12] = [
    stretch(
        Road::ControlProtocol,
        (0, 0, 0),
        false,
        "before 2.0.71 a session without a screen is not offered the question tool",
    ),
    stretch(
        Road::ControlProtocol,
        (2, 0, 71),
        true,
        "a note is written into the answer, because versions before 2.1.45 lose it",
    ),
    stretch(
        Road::ControlProtocol,
        (2, 1, 97),
        true,
        "questions, plans, permissions and MCP forms, with notes",
    ),
    stretch(Road::Hook, (0, 0, 0), false, "the PermissionRequest hook came with 2.0.45"),
    stretch(Road::Hook, (2, 0, 45), true, "the hook races the dialog; the first answer wins"),
    stretch(Road::Transcript, (0, 0, 0), false, "the question tool came with 2.0.21"),
    stretch(
        Road::Transcript,
        (2, 0, 21),
        true,
        "questions are seen; living sessions are not listed before 2.1.75, so only those that ask while the hub runs",
    ),
    stretch(
        Road::Transcript,
        (2, 1, 75),
        true,
        "questions are seen, also those that were open before the hub started",
    ),
    stretch(Road::Keys, (0, 0, 0), false, "not tried before 2.0.76"),
    stretch(
        Road::Keys,
        (2, 0, 76),
        true,
        "in tmux; the process is found by its folder; own words beside ticks are not submitted, because the dialog forgets them",
    ),
    stretch(
        Road::Keys,
        (2, 1, 75),
        true,
        "in tmux; own words beside ticks are not submitted where the dialog forgets them (seen with 2.1.120)",
    ),
    stretch(Road::Keys, (2, 1, 325), true, "in tmux: picks, own words, plans, interrupts"),
];

/// The roads of a version, in the order of preference; none where the text is no version.
pub(super) fn roads(version: &str) -> Vec<RoadHere> {
    let Some(version) = Version::parse(version) else { return Vec::new() };
    let mut roads: Vec<RoadHere> = Vec::new();
    for stretch in STRETCHES.iter().filter(|stretch| stretch.from <= version) {
        let here = RoadHere { road: stretch.road, works: stretch.works, why: stretch.why.to_owned() };
        match roads.iter_mut().find(|known| known.road == stretch.road) {
            Some(known) => *known = here,
            None => roads.push(here),
        }
    }
    roads
}

/// The reason why a version lacks this channel; `None` if it has it, or if the text is no version.
pub(super) fn lacks(version: &str, road: Road) -> Option<String> {
    roads(version).into_iter().find(|here| here.road == road && !here.works).map(|here| here.why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_side_of_every_boundary_is_told_apart() {
        let works = |version: &str| -> Vec<Road> {
            roads(version).into_iter().filter(|here| here.works).map(|here| here.road).collect()
        };
        use Road::{ControlProtocol, Hook, Keys, Transcript};
        assert_eq!(works("2.0.20"), []);
        assert_eq!(works("2.0.21"), [Transcript]);
        assert_eq!(works("2.0.44"), [Transcript]);
        assert_eq!(works("2.0.45"), [Hook, Transcript]);
        assert_eq!(works("2.0.70"), [Hook, Transcript]);
        assert_eq!(works("2.0.71"), [ControlProtocol, Hook, Transcript]);
        for version in ["2.0.76 (Claude Code)", "2.1.120", "2.1.325 (Claude Code)", "3.0.0-beta.1"] {
            assert_eq!(works(version), [ControlProtocol, Hook, Transcript, Keys], "{version}");
        }
        for (version, lacking) in
            [("2.0.70", true), ("2.0.71", false), ("2.1.0-beta", false), ("1.9.99", true), ("x", false)]
        {
            assert_eq!(lacks(version, ControlProtocol).is_some(), lacking, "{version}");
        }
        assert!(roads("next").is_empty() && roads("").is_empty() && roads("2.1").is_empty());
        assert!(STRETCHES.windows(2).all(|pair| pair[0].road != pair[1].road || pair[0].from < pair[1].from));
    }
}
