module example.com/backoff/docs

go 1.26.0

require (
	example.com/backoff v1.0.0
	example.com/backoff/recipes v1.0.0
	github.com/cenkalti/backoff/v5 v5.0.3
	github.com/cenkalti/backoff/v6 v6.0.1
	github.com/cenkalti/backoff/v7 v7.0.3
	github.com/stretchr/testify v1.12.1
)

require go.yaml.in/yaml/v3 v3.0.5 // indirect

replace (
	example.com/backoff => ../
	example.com/backoff/recipes => ../recipes
)
