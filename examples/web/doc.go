// Command web is a web application with names in its URLs, with net/http, chi, gin or echo.
// It is a separate module, so that Dibs itself does not depend on them.
//
//	go run . chi
//	curl -i localhost:8000/w/alice-bob/photos
package main
