package profile

// Roles are names that sound as if they came with rights, and names for nobody.
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
