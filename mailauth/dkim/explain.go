package dkim

// Explain says why a check failed: the cause, and the same in a sentence.
func (c *Checker) Explain(s *Signature, check Check, self int) (Cause, string) {
	if check.BodyHashOK != nil && !*check.BodyHashOK {
		return BodyChanged, "The body was changed after signing."
	}
	return HeaderChanged, "A signed header field was changed after signing."
}
