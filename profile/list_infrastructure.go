package profile

// Infrastructure are names that machines look for: hosts by convention, names that mail
// clients and browsers ask for by themselves, names that standards keep.
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
