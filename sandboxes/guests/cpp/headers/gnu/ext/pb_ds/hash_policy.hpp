#pragma once
#include <ext/pb_ds/tag_and_trait.hpp>
