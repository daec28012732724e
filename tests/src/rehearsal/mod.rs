//! A family that exists only in tests.
