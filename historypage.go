package dibs

// HistoryQuery selects events of one name.
type HistoryQuery struct {
	Namespace string
	Value     string
	Limit     int    // zero means 1,000, which is also the most
	Cursor    string // HistoryPage.Next of the page with newer events; empty means the newest
}

// HistoryPage is a part of a name's history: the newest events, or those that come before
// another page.
type HistoryPage struct {
	Events []Event // oldest first
	Next   string  // the cursor of the page with older events; empty where there is none
}
