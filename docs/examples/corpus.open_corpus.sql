select corpus.open_corpus('sample') = corpus.open_corpus('sample') as is_the_same;
