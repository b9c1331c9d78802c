/* Ranks a graph held in memory by PageRank:  rank_graph [cuda] */
#include <stdio.h>
#include <windrow/windrow.h>

enum { PAGES = 6, LINKS = 9 };

/* Page 5 links to none; the link 0 -> 1 is there twice and counts once. */
static const int32_t link_from[LINKS] = {0, 3, 0, 2, 1, 4, 3, 2, 0}, link_to[LINKS] = {1, 2, 2, 0, 2, 2, 5, 3, 1};

/* Links in any order become the rows of a matrix without values. */
static wr_status make_links(wr_csr **links) {
  wr_triplet_chunk chunk = {.count = LINKS, .capacity = LINKS};
  wr_triplets entries = {.nrows = PAGES, .ncols = PAGES, .nchunks = 1};
  wr_status status;
  TRY(wr_alloc(&chunk.row, LINKS, sizeof *chunk.row, "links"));
  TRY(wr_alloc(&chunk.col, LINKS, sizeof *chunk.col, "links"));
  TRY(wr_alloc(&entries.chunks, 1, sizeof chunk, "links"));
  for (int k = 0; k < LINKS; k++) chunk.row[k] = link_from[k], chunk.col[k] = link_to[k];
  entries.chunks[0] = chunk;
  chunk = (wr_triplet_chunk){0};
  TRY(wr_csr_assemble(&entries, WR_DUPLICATES_ONCE, links, NULL));
done:
  wr_triplets_free(&entries);
  wr_free(chunk.row);
  wr_free(chunk.col);
  return status;
}

int main(int argc, char **argv) {
  wr_env env = {.place = argc > 1 && argv[1][0] == 'c' ? WR_CUDA : WR_HOST, .type = WR_F64};
  wr_pagerank_options options = {.damping = 0.85, .tolerance = 1e-12, .iterations = 1000, .check_every = 1};
  wr_csr *links = NULL;
  wr_graph graph = {0};
  wr_plan *plan = NULL;
  wr_pagerank solver = {0};
  wr_result result;
  double scores[PAGES];
  wr_status status;
  TRY(wr_env_open(&env));
  TRY(make_links(&links));
  TRY(wr_graph_build(links, 0, NULL, NULL, &graph));
  TRY(wr_plan_create(wr_backend_default(env.place), NULL, graph.flow, &env, &plan));
  TRY(wr_plan_prepare(plan));
  TRY(wr_pagerank_open(&solver, &graph, plan, &env));
  TRY(wr_pagerank_solve(&solver, &options, &(wr_monitor){0}, &result));
  TRY(wr_pagerank_download(&solver, scores));
  TRY(wr_pagerank_normalise(scores, PAGES, &options, result.rounding));
  for (int i = 0; i < PAGES; i++) printf("page %d  %.12f\n", i, scores[i]);
done:
  if (status != WR_OK) fprintf(stderr, "rank_graph: %s\n", wr_status_message());
  wr_pagerank_close(&solver);
  wr_plan_destroy(plan);
  wr_graph_free(&graph);
  wr_csr_free(links);
  wr_env_close(&env);
  return wr_status_exit_code(status);
}
