package aggregate

// The limits of what Read takes. What is larger than MaxExpanded or MaxRatio is a [LimitError]; records over
// MaxRecords, texts over MaxText and results over MaxAuth are left out, and a Fault says so.
const (
	MaxExpanded = 100 << 20 // bytes of XML, whatever it was packed in
	MaxRatio    = 200       // bytes of XML for each byte that was sent, above 1 MiB
	MaxRecords  = 200_000
	MaxText     = 4096 // bytes of one element: names have 253, comments a few hundred
	MaxAuth     = 100  // DKIM or SPF results, or overrides, of one record
)
