select corpus.open_service('tex_to_html') = corpus.open_service('tex_to_html') as is_the_same;
