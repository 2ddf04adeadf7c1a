package profile

// Brands are words by which people pass themselves off as somebody: words that claim to
// be the real one, and a modest number of the names that are imitated most.
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
