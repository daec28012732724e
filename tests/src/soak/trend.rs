//! Whether a row of figures grows: a line through them, by least squares.

/// What a line through some figures says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trend {
    pub mean: f64,
    pub least: f64,
    pub most: f64,
    /// By how much the line rises from the first point to the last.
    pub growth: f64,
}

/// None without two points at different times.
pub fn trend(points: &[(f64, f64)]) -> Option<Trend> {
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (middle, mean) = (mean(|point| point.0), mean(|point| point.1));
    let spread: f64 = points.iter().map(|(at, _)| (at - middle).powi(2)).sum();
    if points.is_empty() || spread == 0.0 {
        return None;
    }
    let slope = points.iter().map(|(at, figure)| (at - middle) * (figure - mean)).sum::<f64>() / spread;
    let figures = || points.iter().map(|(_, figure)| *figure);
    let (least, most) = (figures().fold(f64::INFINITY, f64::min), figures().fold(f64::NEG_INFINITY, f64::max));
    Some(Trend { mean, least, most, growth: slope * (points[points.len() - 1].0 - points[0].0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_rises_or_not() {
        assert_eq!(trend(&[]), None);
        assert_eq!(trend(&[(1.0, 5.0)]), None);
        let flat = trend(&[(0.0, 5.0), (10.0, 5.0), (20.0, 5.0)]).expect("a trend");
        assert_eq!((flat.mean, flat.growth), (5.0, 0.0));
        let rising = trend(&[(0.0, 1.0), (10.0, 2.0), (20.0, 3.0)]).expect("a trend");
        assert_eq!((rising.least, rising.most, rising.growth), (1.0, 3.0, 2.0));
        let jagged: Vec<(f64, f64)> = (0..100).map(|turn| (f64::from(turn), f64::from(turn % 2))).collect();
        assert!(trend(&jagged).is_some_and(|trend| trend.growth.abs() < 0.05));
    }
}
