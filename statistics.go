package dibs

// Stats counts the names there are, at one moment or nearly so.
type Stats struct {
	Names []NameCount // by namespace and state; what nobody has is left out
	// EndingSoon is how many holds end within a minute.
	EndingSoon int
}

// NameCount is how many names of a namespace are in a state.
type NameCount struct {
	Namespace string
	State     State
	Count     int
}
