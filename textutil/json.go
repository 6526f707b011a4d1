package textutil

// byteOrderMark is what some editors begin a text with. In UTF-8 it says nothing.
const byteOrderMark = "\uFEFF"

// A RootType is the type of the outermost value of a text.
type RootType string

// The types of values.
const (
	ObjectType  RootType = "object"
	ArrayType   RootType = "array"
	StringType  RootType = "string"
	NumberType  RootType = "number"
	BooleanType RootType = "boolean"
	NullType    RootType = "null"
	UnknownType RootType = "unknown" // the text is not valid
)

// Values lists the types.
func (RootType) Values() []string {
	return []string{string(ObjectType), string(ArrayType), string(StringType), string(NumberType),
		string(BooleanType), string(NullType), string(UnknownType)}
}
