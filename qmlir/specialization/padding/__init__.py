"""From open sizes to one function of a stated capacity that computes every size up to it, from padded inputs."""
