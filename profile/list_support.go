package profile

// Support are addresses at which people expect the operator, among them those that RFC
// 2142 gives a meaning, and those that can get a certificate for a domain.
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
