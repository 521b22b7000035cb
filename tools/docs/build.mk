# The pages of the tree as a site in build/docs/site. Included by the Makefile. Its packages are installed by `make docs`
# alone. A browser opens the pages as files, too, but searches only what a server sends it.

DOCS := $(BUILD)/docs

.PHONY: docs
docs: $(DOCS)/venv/stamp ## all pages as a site that can be searched, in build/docs/site
	$(Q)$(DOCS)/venv/bin/python -B tools/docs/assemble.py $(DOCS)
	$(Q)NO_MKDOCS_2_WARNING=1 $(DOCS)/venv/bin/mkdocs build --clean -f $(DOCS)/mkdocs.yml >$(DOCS)/log 2>&1 || \
		{ grep -v '^INFO' $(DOCS)/log >&2; exit 1; }
	@echo "built $(DOCS)/site; to read and search it: python3 -m http.server -d $(DOCS)/site"

$(DOCS)/venv/stamp: tools/docs/requirements.txt
	@mkdir -p $(DOCS)
	$(Q)rm -rf $(DOCS)/venv
	$(Q)/usr/bin/python3 -m venv $(DOCS)/venv
	$(Q)$(DOCS)/venv/bin/python -m pip install -q --disable-pip-version-check -r $<
	@touch $@
