package main

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/calldibs/dibs/dibshttp"
)

// withGin serves the site with gin. It wraps the whole router, since gin's own middleware
// uses another kind of response writer.
func withGin(names *dibshttp.Names) http.Handler {
	gin.SetMode(gin.ReleaseMode)
	router := gin.New()
	router.GET("/", func(c *gin.Context) { c.String(http.StatusOK, "welcome") })
	router.GET("/w/:slug/photos", func(c *gin.Context) {
		match, _ := dibshttp.FromContext(c.Request.Context())
		c.String(http.StatusOK, "photos of %s", match.Entity)
	})
	return names.Wrap(router)
}
