package released

import "regexp"

// deprecation is what is said of everything that is deprecated: what takes its place, and the release without it.
var deprecation = regexp.MustCompile(`(?is)^use .+[.;]\s+removed in \d+\.\d+\.0\.?$`)

// validDeprecation reports whether a text says so. A comment follows "Deprecated:", a flag or a command has it alone:
//
//	// Deprecated: Use [Lookup]. Removed in 0.11.0.
//	flags.MarkDeprecated("key", "use --secret; removed in 0.11.0")
func validDeprecation(text string) bool { return deprecation.MatchString(text) }
