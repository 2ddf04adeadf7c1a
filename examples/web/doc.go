// Command web shows names in the URLs of an application, with net/http, chi, gin and echo.
// It is a module of its own, so that none of them is needed for Dibs itself.
//
//	go run . chi
//	curl -i localhost:8000/w/alice-bob/photos
package main
