package coretest

import (
	"net/http"
	"net/http/httptest"
)

// Direct is an HTTP transport that calls a handler without a network. It also works in a synctest
// bubble. A response is complete before it is returned, so streams do not work.
type Direct struct{ Handler http.Handler }

// RoundTrip returns the handler's response.
func (d Direct) RoundTrip(request *http.Request) (*http.Response, error) {
	response := httptest.NewRecorder()
	d.Handler.ServeHTTP(response, request)
	return response.Result(), nil
}
