package torture

// Between puts something between the link to each server and the server.
func (c *Config) Between(between func(server int, address string) string) { c.between = between }
