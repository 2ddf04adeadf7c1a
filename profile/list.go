package profile

// List is a list of words that many products reserve. The lists of this package are
// small letters, digits and hyphens, and in order.
type List struct {
	// Name identifies the list: "routes".
	Name string
	// Words are the words. Nil means none.
	Words []string
}

// AllLists are the lists of this package.
var AllLists = []List{Routes, Roles, Infrastructure, Support, Brands}
