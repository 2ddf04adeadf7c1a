package profile

// List is a list of words that many products reserve. The lists of this package are
// sorted, and have lower-case letters, digits and hyphens only.
type List struct {
	// Name identifies the list: "routes".
	Name string
	// Words are the words. Nil means none.
	Words []string
}

// AllLists are the lists of this package.
var AllLists = []List{Routes, Roles, Infrastructure, Support, Brands}

// Routes are paths that a web site needs itself, so that example.com/login is never the page
// of a user named login.
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

// Roles are names that suggest rights, and names that stand for no particular person.
var Roles = List{Name: "roles", Words: []string{
	"admin", "administration", "administrator", "administrators", "admins", "anonymous", "anybody", "anyone",
	"author", "authors", "bot", "bots", "ceo", "cfo", "chairman", "cio", "ciso", "client", "clients",
	"co-owner", "cofounder", "cofounders", "coo", "council", "cto", "curator", "customer", "customers",
	"daemon", "default", "director", "dpo", "editor", "editors", "employee", "employees", "engineering",
	"everybody", "everyone", "exec", "executive", "executives", "founder", "founders", "guest", "guests",
	"host", "hosts", "hr", "human-resources", "instructor", "leader", "leadership", "legal-team", "maintainer",
	"maintainers", "management", "manager", "managers", "marketing", "master", "me", "member", "mod",
	"moderation", "moderator", "moderators", "mods", "myself", "nobody", "none", "noone", "operator",
	"operators", "ops", "owner", "owners", "partner", "partners", "president", "principal", "publisher", "qa",
	"recruiter", "recruiting", "recruitment", "reviewer", "reviewers", "root", "sales", "sales-team", "self",
	"service-account", "shareholder", "someone", "staff", "staff-member", "steward", "su", "sudo", "sudoer",
	"superadmin", "superuser", "supervisor", "sys", "sysadmin", "sysadmins", "sysop", "sysops", "system",
	"systems", "teacher", "team", "teams", "tester", "testers", "treasurer", "trustee", "unknown", "user-admin",
	"vice-president", "visitor", "visitors", "vp", "webadmin", "you", "yourself",
}}

// Infrastructure are names that machines look up: hosts by convention, names that mail
// clients and browsers request by themselves, names that standards reserve.
var Infrastructure = List{Name: "infrastructure", Words: []string{
	"access", "activesync", "api-gateway", "apt", "autoconfig", "autodiscover", "backup", "backups", "bastion",
	"beta", "broadcasthost", "build", "builds", "cdn", "cdn1", "cdn2", "ci", "cloud", "cluster", "cname",
	"console", "corp", "cpanel", "cron", "database", "db", "db1", "db2", "debug", "deploy", "devops", "dhcp",
	"directadmin", "dkim", "dmarc", "dns", "dns0", "dns1", "dns2", "dns3", "docker", "example-com", "exchange",
	"firewall", "ftp", "ftp1", "ftpd", "gateway", "git", "gitlab", "grafana", "haproxy", "http", "httpd",
	"https", "imap", "imap1", "imap2", "imap4", "imaps", "internal", "intranet", "invalid", "ip", "ipv4",
	"ipv6", "isatap", "jenkins", "kerberos", "kibana", "kubernetes", "lan", "ldap", "ldaps", "load-balancer",
	"local", "localdomain", "localhost", "log", "loghost", "lyncdiscover", "mail", "mail0", "mail1", "mail2",
	"mail3", "mailer", "mailer-daemon", "mailhost", "mailserver", "memcached", "mirror", "mongodb", "monitor",
	"monitoring", "mta", "mta-sts", "mx", "mx0", "mx1", "mx2", "mx3", "mysql", "nameserver", "network", "nfs",
	"nginx", "ns", "ns0", "ns1", "ns2", "ns3", "ns4", "ntp", "ntp1", "ntp2", "onion", "openvpn", "origin",
	"owa", "pop", "pop3", "pop3s", "postgres", "postgresql", "prod", "production", "prometheus", "proxy",
	"radius", "rdp", "redis", "registry", "relay", "remote", "replica", "repo", "repository", "router",
	"sandbox", "scp", "secure", "server", "server1", "server2", "servers", "sftp", "sip", "smb", "smtp",
	"smtp1", "smtp2", "smtps", "snmp", "spf", "sql", "ssh", "ssl", "staging", "storage", "stun", "subdomain",
	"svn", "sync", "syslog", "tcp", "telnet", "tftp", "timeserver", "tls", "traefik", "udp", "uucp", "vault",
	"vnc", "voip", "vpn", "vpn1", "vpn2", "web", "web1", "web2", "webdav", "webdisk", "webmail", "webserver",
	"whm", "wildcard", "wpad", "ww", "www", "www-data", "www0", "www1", "www2", "www3", "www4", "wwww", "xmpp",
}}

// Support are addresses at which people expect the operator, including those that RFC 2142
// defines, and those that can get a certificate for a domain.
var Support = List{Name: "support", Words: []string{
	"abuse", "accessibility", "account-recovery", "accounting", "accounts-payable", "accounts-receivable",
	"admin-team", "alert", "alerts", "appeals", "assistance", "billing", "billing-team", "bounce", "bounces",
	"bug", "bug-bounty", "bugs", "business", "careers", "cert", "certificate", "certificates", "chargeback",
	"chargebacks", "claims", "complaint", "complaints", "compliance", "contact", "contact-us", "copyright",
	"csirt", "customer-care", "customer-service", "customer-support", "data-protection",
	"data-protection-officer", "ddos", "disputes", "dmca", "do-not-reply", "email", "enquiries", "escalations",
	"feedback", "finance", "fraud", "gdpr", "hello", "help", "help-center", "help-centre", "help-desk",
	"helpline", "hostmaster", "hotline", "incident", "incidents", "info", "information", "infosec", "inquiries",
	"inquiry", "investors", "invoice", "invoices", "it-support", "kyc", "legal-department", "licensing",
	"listmaster", "mail-admin", "mailbox", "marketing-team", "media-relations", "moderation-team", "newsroom",
	"no-reply", "noc", "notify", "office", "onboarding", "outreach", "partnerships", "payment", "payroll",
	"phishing", "piracy", "postmaster", "press-office", "privacy-officer", "privacy-team", "procurement",
	"psirt", "public-relations", "receipts", "recovery", "refund", "refunds", "registrar", "reply", "report",
	"report-abuse", "report-spam", "reporting", "request", "requests", "returns", "safety", "scam", "security",
	"security-alert", "security-team", "service", "service-desk", "services", "shipping", "soc", "spam",
	"ssladmin", "ssladministrator", "sslwebmaster", "subpoena", "subscription", "suggestions", "support",
	"support-center", "support-centre", "support-team", "takedown", "tax", "tech-support", "technical-support",
	"ticket", "tickets", "trademark", "trademarks", "trust", "trust-and-safety", "trust-safety", "usenet",
	"vendor", "vendors", "verification", "warranty", "webmaster", "welcome", "whistleblower",
}}

// Brands are words for impersonation: words that claim to be authentic, and some of the
// brands that are imitated most.
var Brands = List{Name: "brands", Words: []string{
	"account-security", "account-service", "account-support", "account-verification", "accredited", "adobe",
	"airbnb", "alibaba", "aliexpress", "amazon", "amazon-prime", "american-express", "amex", "android", "aol",
	"apple", "approved", "appstore", "authentic", "authenticated", "authorised", "authorized", "aws", "azure",
	"bank-of-america", "barclays", "binance", "bing", "bitcoin", "certified", "chatgpt", "chrome", "cisco",
	"citibank", "cloudflare", "coinbase", "community-manager", "company", "confirmed", "corporate",
	"customer-success", "dhl", "discord", "disney", "docusign", "dropbox", "ebay", "ethereum", "etsy",
	"facebook", "fedex", "firefox", "genuine", "github", "giveaway", "gmail", "google", "google-play",
	"government", "headquarters", "hotmail", "hq", "hsbc", "icloud", "instagram", "intuit", "irs", "itunes",
	"legit", "linkedin", "mastercard", "mcafee", "metamask", "microsoft", "minecraft", "mozilla", "msn",
	"netflix", "nintendo", "office365", "official", "official-account", "official-page", "official-support",
	"official-team", "officials", "onedrive", "openai", "opensea", "oracle", "outlook", "paypal", "pinterest",
	"playstation", "police", "quickbooks", "real-account", "reddit", "revolut", "roblox", "royal-mail",
	"samsung", "santander", "shopify", "skype", "slack", "snapchat", "sony", "spotify", "staff", "stripe",
	"telegram", "tesla", "the-official", "the-real", "tiktok", "trusted", "trusted-seller", "twitch", "twitter",
	"uber", "ups", "usps", "venmo", "verified", "verified-account", "verified-badge", "verified-seller",
	"verified-user", "verify-account", "visa", "walmart", "wechat", "wells-fargo", "western-union", "whatsapp",
	"wikipedia", "wordpress", "xbox", "yahoo", "youtube", "zelle", "zoom",
}}
