//! Real programs: process.
