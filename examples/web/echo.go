package main

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/calldibs/dibs/dibshttp"
)

// withEcho serves the site with echo, which has a wrapper for middleware of net/http.
func withEcho(names *dibshttp.Names) http.Handler {
	router := echo.New()
	router.GET("/", func(c echo.Context) error { return c.String(http.StatusOK, "welcome") })
	router.GET("/w/:slug/photos", func(c echo.Context) error {
		match, _ := dibshttp.FromContext(c.Request().Context())
		return c.String(http.StatusOK, "photos of "+match.Entity.String())
	}, echo.WrapMiddleware(names.Wrap))
	return router
}
