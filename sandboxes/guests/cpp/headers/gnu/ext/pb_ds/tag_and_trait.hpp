// Names that all headers of this folder share.
#ifndef ASSAY_PB_DS_TAGS
#define ASSAY_PB_DS_TAGS

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace __gnu_pbds {

struct null_type {};
using null_mapped_type = null_type;

struct basic_hash_tag {};
struct cc_hash_tag : basic_hash_tag {};
struct gp_hash_tag : basic_hash_tag {};
struct tree_tag {};
struct rb_tree_tag : tree_tag {};
struct splay_tree_tag : tree_tag {};
struct ov_tree_tag : tree_tag {};
struct trie_tag {};
struct pat_trie_tag : trie_tag {};
struct priority_queue_tag {};
struct pairing_heap_tag : priority_queue_tag {};
struct binomial_heap_tag : priority_queue_tag {};
struct rc_binomial_heap_tag : priority_queue_tag {};
struct binary_heap_tag : priority_queue_tag {};
struct thin_heap_tag : priority_queue_tag {};

// Policies of nodes. Trees here always keep sizes, so both provide the same functions.
template <class...>
struct null_node_update {};
template <class...>
struct tree_order_statistics_node_update {};
template <class...>
struct trie_order_statistics_node_update {};
template <class...>
struct trie_prefix_search_node_update {};

// The elements of a text that a trie is ordered by.
template <class Text = std::string, class...>
struct trie_string_access_traits {
    using key_type = Text;
};

} // namespace __gnu_pbds

#endif
