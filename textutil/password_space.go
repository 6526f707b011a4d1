package textutil

import (
	"math"
	"math/big"
)

// A passwordSpace is a set of passwords, numbered from 0. A password is a sequence of symbols of some
// classes, of which each must occur if so required.
//
// To draw one, a number is drawn and the password of that number looked up: so each is as likely as any
// other, no matter what is required, and nothing is ever thrown away. Drawing one character of each
// class first and shuffling would favour passwords that have several of a small class.
type passwordSpace struct {
	classes   [][]string
	length    int
	each      bool
	separator string
	// ways[n][m] is the number of ways to write n more symbols if the classes in the bit set m have yet
	// to occur. If no class must occur, m is 0 throughout.
	ways [][]*big.Int
}

func newPasswordSpace(classes [][]string, length int, each bool, separator string) *passwordSpace {
	s := &passwordSpace{classes: classes, length: length, each: each, separator: separator}
	sets := 1
	if each {
		sets = 1 << len(classes)
	}
	s.ways = make([][]*big.Int, length+1)
	for n := range s.ways {
		s.ways[n] = make([]*big.Int, sets)
		for missing := range sets {
			w := new(big.Int)
			switch {
			case n == 0 && missing == 0:
				w.SetInt64(1)
			case n > 0:
				for class := range classes {
					w.Add(w, s.waysBehind(n, missing, class, new(big.Int)))
				}
			}
			s.ways[n][missing] = w
		}
	}
	return s
}

// waysBehind sets w to the number of ways to write n more symbols, the first of which is of the class.
func (s *passwordSpace) waysBehind(n, missing, class int, w *big.Int) *big.Int {
	return w.Mul(big.NewInt(int64(len(s.classes[class]))), s.ways[n-1][missing&^(1<<class)])
}

// total returns the number of passwords.
func (s *passwordSpace) total() *big.Int { return s.ways[s.length][len(s.ways[s.length])-1] }

// size returns the number of symbols to choose from.
func (s *passwordSpace) size() int {
	n := 0
	for _, class := range s.classes {
		n += len(class)
	}
	return n
}

// entropy returns the logarithm to base 2 of the number of passwords, to three decimals.
func (s *passwordSpace) entropy() float64 {
	mantissa := new(big.Float)
	exponent := new(big.Float).SetInt(s.total()).MantExp(mantissa)
	f, _ := mantissa.Float64()
	return math.Round(1000*(float64(exponent)+math.Log2(f))) / 1000
}

// word returns the symbols of the password of a number below the total.
func (s *passwordSpace) word(number *big.Int) []string {
	rest, quotient, ways := new(big.Int).Set(number), new(big.Int), new(big.Int)
	missing := len(s.ways[0]) - 1
	symbols := make([]string, 0, s.length)
	for n := s.length; n > 0; n-- {
		class := 0
		for s.waysBehind(n, missing, class, ways).Cmp(rest) <= 0 {
			rest.Sub(rest, ways)
			class++
		}
		missing &^= 1 << class
		quotient.QuoRem(rest, s.ways[n-1][missing], rest)
		symbols = append(symbols, s.classes[class][quotient.Int64()])
	}
	return symbols
}
