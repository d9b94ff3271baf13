module example.com/backoff/herd

go 1.26.0

require (
	example.com/backoff v1.0.0
	github.com/stretchr/testify v1.12.1
)

require go.yaml.in/yaml/v3 v3.0.5 // indirect

replace example.com/backoff => ../
