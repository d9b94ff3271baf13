package backoff

import "reflect"

// permanent reports whether err is or wraps a PermanentError, and returns it without the marks.
func permanent(err error) (error, bool) {
	if _, ok := asType[*PermanentError](err); !ok {
		return nil, false
	}
	marks, err := unwrapMarks(err)
	if marks > 0 { // otherwise the mark that was found is still in err
		if _, ok := asType[*PermanentError](err); !ok {
			return err, true
		}
	}
	return hideMarks(err, marks), true
}

// maxMarks is how many marks are taken off on the way down an error's tree. There are more only
// where a PermanentError wraps itself.
const maxMarks = 1 << 16

// unwrapMarks returns the number of marks at the top of err, and what is below them.
func unwrapMarks(err error) (marks int, inner error) {
	for marks < maxMarks {
		mark, ok := err.(*PermanentError)
		if !ok || mark.Unwrap() == nil {
			break
		}
		err = mark.Unwrap()
		marks++
	}
	return marks, err
}

// unmarked hides the PermanentErrors in the tree of an error: it has the text of the whole and
// matches everything in it but them, so that an inner loop's mark does not stop an outer loop.
type unmarked struct {
	whole error // not a mark, unless it is one without an Err
	marks int   // taken off above
}

// unmarkedTree is unmarked for an error that wraps several.
type unmarkedTree struct{ *unmarked }

// hideMarks returns err with the marks in its tree hidden. err itself is not a mark with an Err.
func hideMarks(err error, marks int) error {
	switch err.(type) {
	case *unmarked, unmarkedTree:
		return err
	case interface{ Unwrap() []error }:
		return unmarkedTree{&unmarked{err, marks}}
	}
	return &unmarked{err, marks}
}

func (e *unmarked) Error() string { return e.whole.Error() }

// Unwrap returns what the whole wraps. If the whole wraps nothing, but its own As finds a mark,
// that is the error that the mark holds.
func (e *unmarked) Unwrap() error {
	if e.marks >= maxMarks {
		return nil
	}
	switch x := e.whole.(type) {
	case *PermanentError:
		return nil
	case interface{ Unwrap() error }:
		return e.below(x.Unwrap())
	case interface{ As(any) bool }:
		if mark := new(PermanentError); x.As(&mark) && !equal(mark.Unwrap(), e.whole) {
			return e.below(mark)
		}
	}
	return nil
}

func (e unmarkedTree) Unwrap() []error {
	if e.marks >= maxMarks {
		return nil
	}
	branches := e.whole.(interface{ Unwrap() []error }).Unwrap()
	hidden := make([]error, len(branches))
	for i, branch := range branches {
		hidden[i] = e.below(branch)
	}
	return hidden
}

// below returns err, which e.whole wraps, with its marks hidden.
func (e *unmarked) below(err error) error {
	if err == nil {
		return nil
	}
	marks, err := unwrapMarks(err)
	switch err.(type) {
	case *PermanentError, interface{ Unwrap() error }, interface{ Unwrap() []error }, interface{ As(any) bool }:
		return hideMarks(err, e.marks+marks)
	}
	return err
}

// Is looks at the whole alone; errors.Is goes on with what it wraps.
func (e *unmarked) Is(target error) bool {
	if _, mark := target.(*PermanentError); mark {
		return false
	}
	x, ok := e.whole.(interface{ Is(error) bool })
	return equal(e.whole, target) || ok && x.Is(target)
}

// As looks at the whole alone; errors.As goes on with what it wraps.
func (e *unmarked) As(target any) bool {
	if _, mark := target.(**PermanentError); mark {
		return false
	}
	if v := reflect.ValueOf(target).Elem(); reflect.TypeOf(e.whole).AssignableTo(v.Type()) {
		v.Set(reflect.ValueOf(e.whole))
		return true
	}
	x, ok := e.whole.(interface{ As(any) bool })
	return ok && x.As(target)
}

// asType stands in for errors.AsType until go.mod requires Go 1.26. Unlike errors.As it neither
// allocates nor reflects.
func asType[E error](err error) (E, bool) {
	var none E
	for err != nil {
		if e, ok := err.(E); ok {
			return e, true
		}
		switch err.(type) {
		case interface{ Unwrap() error }, interface{ Unwrap() []error }, interface{ As(any) bool }:
		default:
			return none, false // most errors; one look is enough for them
		}
		if x, ok := err.(interface{ As(any) bool }); ok {
			target := new(E)
			if x.As(target) {
				return *target, true
			}
		}
		switch x := err.(type) {
		case interface{ Unwrap() error }:
			err = x.Unwrap()
		case interface{ Unwrap() []error }:
			for _, branch := range x.Unwrap() {
				if e, ok := asType[E](branch); ok {
					return e, true
				}
			}
			return none, false
		default:
			return none, false
		}
	}
	return none, false
}
