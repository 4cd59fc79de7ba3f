// SPDX-License-Identifier: GPL-2.0
/*
 * Synchronisation objects of the DRM core, for rust/glue/drm/syncobj.rs: bindings of the kernel crate have neither
 * their types nor the macros that count fences.
 */

#include <linux/dma-fence-chain.h>
#include <drm/drm_syncobj.h>

int rkfd_syncobj_wait(struct drm_file *file, u32 handle);
void *rkfd_syncobj_point(void);
void rkfd_syncobj_forget(struct drm_syncobj *syncobj, void *point);
void rkfd_syncobj_reach(struct drm_syncobj *syncobj, void *point, u64 number);

/* Waits for the fence that an object has; -ENOENT without an object, -EINVAL without a fence. */
int rkfd_syncobj_wait(struct drm_file *file, u32 handle)
{
	struct dma_fence *fence;
	long r = drm_syncobj_find_fence(file, handle, 0, 0, &fence);

	if (r)
		return r;
	r = dma_fence_wait(fence, true);
	dma_fence_put(fence);
	return r < 0 ? r : 0;
}

/* Memory for a point of a time line. */
void *rkfd_syncobj_point(void)
{
	return dma_fence_chain_alloc();
}

/* Gives up the reference to an object, and a point that was not used, if any. */
void rkfd_syncobj_forget(struct drm_syncobj *syncobj, void *point)
{
	dma_fence_chain_free(point);
	drm_syncobj_put(syncobj);
}

/* Gives an object a signalled fence: in place of what it has, or as a point of its time line, which takes the memory. */
void rkfd_syncobj_reach(struct drm_syncobj *syncobj, void *point, u64 number)
{
	struct dma_fence *fence = dma_fence_get_stub();

	if (point)
		drm_syncobj_add_point(syncobj, point, fence, number);
	else
		drm_syncobj_replace_fence(syncobj, fence);
	dma_fence_put(fence);
}
