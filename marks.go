package backoff

import (
	"errors"
	"reflect"
)

// maxDepth limits how deep an error's tree is searched for marks, since an error may wrap itself. What
// is deeper is left out.
const maxDepth = 100_000

// permanent returns err without the marks in its tree, and reports whether there were any.
func permanent(err error) (error, bool) {
	if _, ok := asType[*PermanentError](err); !ok {
		return err, false
	}
	e := &unmarked{whole: err}
	e.split(err, 0)
	switch {
	case len(e.above) > 0:
		return e, true
	case len(e.parts) > 0: // one, below marks alone
		return e.parts[0], true
	}
	return errors.New(new(PermanentError).Error()), true // of marks that mark nothing
}

func withoutMarks(err error) error {
	err, _ = permanent(err)
	return err
}

// unmarked is an error without the marks that were in its tree, so that an inner loop's mark does not
// stop an outer loop. It has the text of the whole and matches all of it but the marks.
type unmarked struct {
	whole error
	above []error // the errors with a mark below them; matched one by one, as they still wrap it
	parts []error // the largest parts of the tree without a mark
	full  bool    // maxDepth was reached
}

func (e *unmarked) Error() string   { return e.whole.Error() }
func (e *unmarked) Unwrap() []error { return e.parts }

func (e *unmarked) Is(target error) bool {
	if _, ok := target.(*PermanentError); ok {
		return false
	}
	for _, err := range e.above {
		if x, ok := err.(interface{ Is(error) bool }); equal(err, target) || ok && x.Is(target) {
			return true
		}
	}
	return false
}

func (e *unmarked) As(target any) bool {
	if _, ok := target.(**PermanentError); ok {
		return false
	}
	v := reflect.ValueOf(target).Elem()
	for _, err := range e.above {
		if reflect.TypeOf(err).AssignableTo(v.Type()) {
			v.Set(reflect.ValueOf(err))
			return true
		}
		if x, ok := err.(interface{ As(any) bool }); ok && x.As(target) {
			return true
		}
	}
	return false
}

// split sorts the errors in the tree of err into above and parts, and reports whether there is a mark
// among them. If there is none, it adds nothing.
func (e *unmarked) split(err error, depth int) bool {
	if e.full = e.full || depth > maxDepth; e.full {
		return true
	}
	above, parts := len(e.above), len(e.parts)
	_, marked := err.(*PermanentError)
	if !marked {
		e.above = append(e.above, err)
	}
	for _, err := range wrapped(err) {
		switch {
		case err == nil:
		case e.split(err, depth+1):
			marked = true
		default:
			e.parts = append(e.parts, err)
		}
	}
	if x, ok := err.(interface{ As(any) bool }); ok && !marked {
		if mark := new(PermanentError); x.As(&mark) {
			marked = e.split(mark, depth+1)
		}
	}
	if !marked {
		e.above, e.parts = e.above[:above], e.parts[:parts]
	}
	return marked
}

func wrapped(err error) []error {
	switch x := err.(type) {
	case interface{ Unwrap() error }:
		return []error{x.Unwrap()}
	case interface{ Unwrap() []error }:
		return x.Unwrap()
	}
	return nil
}

// asType stands in for errors.AsType until go.mod requires Go 1.26. Unlike errors.As it does not
// reflect, nor allocate for an error without an As method.
func asType[E error](err error) (none E, ok bool) {
	for err != nil {
		if e, ok := err.(E); ok {
			return e, true
		}
		if x, ok := err.(interface{ As(any) bool }); ok {
			if target := new(E); x.As(target) {
				return *target, true
			}
		}
		switch x := err.(type) {
		case interface{ Unwrap() error }:
			err = x.Unwrap()
			continue
		case interface{ Unwrap() []error }:
			for _, err := range x.Unwrap() {
				if e, ok := asType[E](err); ok {
					return e, true
				}
			}
		}
		break
	}
	return none, false
}
