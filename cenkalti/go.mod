module github.com/cenkalti/backoff/v4

go 1.23

// v1.0.0 has every name of v4.3.0. Whoever uses this module gets it from there; the replace line
// counts in this checkout alone.
require example.com/backoff v1.0.0

replace example.com/backoff => ../

require github.com/stretchr/testify v1.7.0

require (
	github.com/davecgh/go-spew v1.1.0 // indirect
	github.com/pmezard/go-difflib v1.0.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)
