//go:build race

package bench

const raceDetector = true // it slows down our side, but not the database
