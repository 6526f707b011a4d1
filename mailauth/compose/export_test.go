package compose

// Named lists the codes, and beginnings of codes, that the tables of this package name.
func Named() (list []string) {
	for code, r := range causesOf {
		list = append(append(list, string(code)), r.causes...)
	}
	for begin := range effects {
		list = append(list, begin)
	}
	for code := range gates {
		list = append(list, string(code))
	}
	for _, code := range lookupCodes {
		list = append(list, string(code))
	}
	return list
}
