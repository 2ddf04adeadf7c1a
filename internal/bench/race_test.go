//go:build race

package bench

const raceDetector = true // it makes our side slower than the database's
