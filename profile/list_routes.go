package profile

// Routes are paths that a web site wants for itself, so that example.com/login is never
// the page of a user called login.
var Routes = List{Name: "routes", Words: []string{
	"about", "account", "accounts", "activate", "admin-panel", "ads", "analytics", "api", "apis", "app", "apps",
	"archive", "assets", "auth", "authorize", "avatar", "blog", "browse", "cache", "calendar", "callback",
	"cart", "catalog", "categories", "category", "changelog", "chat", "checkout", "comments", "community",
	"config", "connect", "cookies", "create", "css", "dashboard", "data", "delete", "demo", "dev", "developer",
	"developers", "directory", "discover", "docs", "documentation", "domain", "download", "downloads", "edit",
	"embed", "error", "errors", "events", "example", "explore", "export", "faq", "favicon", "favicon-ico",
	"features", "feed", "feeds", "files", "follow", "followers", "following", "fonts", "forgot-password",
	"forum", "forums", "gallery", "graphql", "groups", "health", "healthz", "history", "home", "hooks", "html",
	"humans-txt", "image", "images", "img", "import", "inbox", "index", "index-html", "install", "integrations",
	"invite", "invites", "javascript", "jobs", "js", "json", "legal", "library", "lists", "live", "login",
	"logout", "logs", "manifest-json", "maps", "media", "members", "messages", "metrics", "mobile", "new",
	"news", "newsletter", "notifications", "null", "oauth", "oauth2", "openapi", "openid", "orders", "pages",
	"password", "payments", "ping", "plans", "policy", "posts", "preferences", "press", "preview", "pricing",
	"privacy", "privacy-policy", "products", "profile", "profiles", "public", "purchase", "redirect", "refresh",
	"register", "registration", "reset-password", "robots", "robots-txt", "rss", "saml", "schema", "scripts",
	"search", "session", "sessions", "settings", "setup", "share", "shop", "sign-in", "sign-out", "sign-up",
	"sitemap", "sitemap-xml", "sso", "start", "static", "stats", "status", "store", "styles", "subscribe",
	"subscriptions", "swagger", "tags", "templates", "terms", "terms-of-service", "test", "token", "tokens",
	"tos", "undefined", "unsubscribe", "update", "upload", "uploads", "url", "user", "username", "users",
	"verify", "version", "videos", "webhook", "webhooks", "well-known", "widget", "widgets", "wiki", "xml",
}}
